module signpost.test/checker

go 1.18

require (
	github.com/coredns/caddy v1.1.1
	github.com/coredns/coredns v1.10.1
)
