package memory

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const (
	// A machine is short of memory when all of its tasks stood still for want of it
	// in this share of the last ten seconds (the kernel's "full avg10"), or when
	// less than this share is free to be had. Where a kernel tells neither, it is
	// not known to be.
	maxStalledPercent = 10.0
	minFreePercent    = 5
)

// Strain tells why a machine has no strength to spare for work that nobody waits
// for: memory_pressure or on_battery; nil when it has, or when that is not known.
// system is the root of its file system, as os.DirFS("/"): Linux says there how it
// is, other systems say nothing.
func Strain(system fs.FS) *Skipped {
	if stalled, ok := stalledPercent(system); ok && stalled >= maxStalledPercent {
		return &Skipped{Reason: SkipMemoryPressure, Detail: fmt.Sprintf("the machine stood still for want of memory in %.0f%% of the last ten seconds", stalled)}
	}
	if free, ok := freePercent(system); ok && free < minFreePercent {
		return &Skipped{Reason: SkipMemoryPressure, Detail: fmt.Sprintf("%d%% of the machine's memory is free", free)}
	}
	if onBattery(system) {
		return &Skipped{Reason: SkipOnBattery, Detail: "the machine runs on its battery"}
	}
	return nil
}

// stalledPercent reads pressure stall information.
func stalledPercent(system fs.FS) (percent float64, ok bool) {
	raw, err := fs.ReadFile(system, "proc/pressure/memory")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(raw)) {
		rest, full := strings.CutPrefix(line, "full avg10=")
		if !full {
			continue
		}
		value, _, _ := strings.Cut(rest, " ")
		percent, err = strconv.ParseFloat(value, 64)
		return percent, err == nil
	}
	return 0, false
}

// freePercent is what of the machine's memory can be had without swapping.
func freePercent(system fs.FS) (percent int, ok bool) {
	raw, err := fs.ReadFile(system, "proc/meminfo")
	if err != nil {
		return 0, false
	}
	figures := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(line, ":")
		if fields := strings.Fields(value); len(fields) > 0 {
			if n, err := strconv.Atoi(fields[0]); err == nil {
				figures[key] = n
			}
		}
	}
	total, available := figures["MemTotal"], figures["MemAvailable"]
	if total <= 0 || available <= 0 {
		return 0, false
	}
	return int(int64(available) * 100 / int64(total)), true
}

// onBattery tells whether a battery of the machine itself, not of a mouse, is
// being emptied and no mains are there.
func onBattery(system fs.FS) bool {
	const supplies = "sys/class/power_supply"
	entries, err := fs.ReadDir(system, supplies)
	if err != nil {
		return false
	}
	is := func(supply, attribute, value string) bool {
		raw, err := fs.ReadFile(system, path.Join(supplies, supply, attribute))
		return err == nil && strings.TrimSpace(string(raw)) == value
	}
	emptied := false
	for _, e := range entries {
		switch name := e.Name(); {
		case is(name, "type", "Mains") && is(name, "online", "1"), is(name, "type", "USB") && is(name, "online", "1"):
			return false
		case is(name, "type", "Battery") && !is(name, "scope", "Device") && is(name, "status", "Discharging"):
			emptied = true
		}
	}
	return emptied
}
