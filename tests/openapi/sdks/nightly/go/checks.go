package main

import (
	"fmt"
	"log"
	"math"
)

func checkClose(got, want []float32) {
	check(len(got) == len(want), "%d components are %d", len(got), len(want))
	for i := range got {
		check(math.Abs(float64(got[i]-want[i])) < 1e-5, "component %d: %v is %v", i, got[i], want[i])
	}
}

func check(holds bool, format string, arguments ...any) {
	if !holds {
		log.Fatal("not so: " + fmt.Sprintf(format, arguments...))
	}
}
