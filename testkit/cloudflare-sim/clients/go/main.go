// The official Go SDK as judge of the simulator: runs numbered cases and prints one JSON line for each.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// A run is one case of the reference's catalogue; it fails by panicking, so that checks read as plain lines.
type run struct {
	number string
	name   string
	check  func()
}

type verdict struct {
	Case   string `json:"case"`
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func main() {
	for _, cases := range [][]run{authCases, zoneCases, readCases, createCases, changeCases, faultCases} {
		for _, run := range cases {
			line, err := json.Marshal(judge(run))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(string(line))
		}
	}
}

func judge(run run) (result verdict) {
	result = verdict{Case: run.number, Name: run.name, OK: true}
	defer func() {
		if problem := recover(); problem != nil {
			result.OK, result.Detail = false, fmt.Sprint(problem)
			knobs(object{})
			faults()
		}
	}()
	run.check()
	return result
}
