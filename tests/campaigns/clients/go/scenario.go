// The common scenario of the Go libraries. The steps are those of python/scenario.py.
package main

import (
	"fmt"
	"os"
)

// expect ends the running step with what is wrong.
func expect(holds bool, what string, got ...any) {
	if !holds {
		panic(fmt.Sprintf("%s; there was %.80v", what, got))
	}
}

// step runs a step and tells how it ended; false: it failed.
func step(name string, function func()) (passed bool) {
	defer func() {
		if why := recover(); why != nil {
			fmt.Printf("FAILED %s: %v\n", name, why)
			return
		}
		fmt.Printf("ok %s\n", name)
		passed = true
	}()
	function()
	return
}

type namedStep struct {
	name string
	run  func()
}

// run runs the steps of the phase, all of them even if one fails, and ends the program.
func run(phases map[string][]namedStep) {
	status := 0
	for _, each := range phases[os.Args[3]] {
		if !step(each.name, each.run) {
			status = 1
		}
	}
	os.Exit(status)
}
