package main

import "sigs.k8s.io/external-dns/controller"

func main() {
	controller.Execute()
}
