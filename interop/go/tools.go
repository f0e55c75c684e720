//go:build tools

// What else is built here, with its version in go.mod.
package main

import _ "github.com/summerwind/h2spec/cmd/h2spec"
