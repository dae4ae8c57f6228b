module signpost.test/peer

go 1.22

toolchain go1.26.8
