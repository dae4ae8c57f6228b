// Package v3 stands for a module that no proxy has: nothing of it is compiled.
package v3
