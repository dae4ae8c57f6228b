// Package credentials stands for one that no proxy has: nothing of it is compiled.
package credentials
