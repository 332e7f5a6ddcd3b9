package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/memory/activity"
)

// statsDays is how many days are shown unless --days says otherwise.
const statsDays = 30

type statsFlags struct {
	days int
	json bool
}

func (p *program) statsCommand() *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what was recalled, delivered and discarded on this machine",
		Long: `stats shows, day by day, how many recalls there were, how many of them gave a
memory to an agent or editor, how many memories that were, and why the others
gave none. Days are those of UTC.

Only a server that was told to counts: with the setting "activity": true of its
client, or with memls serve --activity. The counts stay on this machine, in
$XDG_STATE_HOME/memls/stats.json; nothing of what was asked or answered is in
them.

--json prints one object: days, a list of {date, recalled, delivered, documents,
discarded: {reason: count}}, and total, the sum of them without a date.
` + exitHelp,
		Example: `  memls stats
  memls stats --days 7
  memls stats --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return worked(p.stats(&f)) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.days, "days", statsDays, fmt.Sprintf("show the last `N` days, 1 to %d", activity.MaxDays))
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (p *program) stats(f *statsFlags) error {
	if f.days < 1 || f.days > activity.MaxDays {
		return usagef("--days %d is not within 1 to %d", f.days, activity.MaxDays)
	}
	state := stateHome()
	if state == "" {
		return errors.New("there is no directory for state: set XDG_STATE_HOME")
	}
	days, err := activity.Open(state).Days(f.days, time.Now())
	if err != nil {
		return err
	}
	var total activity.Counts
	for _, d := range days {
		total.Add(d.Counts)
	}
	if f.json {
		return p.statsJSON(days, total)
	}
	out := &page{columns: maxColumns}
	if len(days) == 0 {
		out.wrapped("", fmt.Sprintf("Nothing was counted in the days asked for (--days %d). A server counts with the setting \"activity\": true of its client, "+
			"or with memls serve --activity; the counts stay on this machine.", f.days), nil)
		if err := p.print(out); err != nil {
			return err
		}
		return exit(exitNothing)
	}
	out.statsTable(days, total)
	return p.print(out)
}

// statsTable prints a line a day and what was discarded.
func (p *page) statsTable(days []activity.Day, total activity.Counts) {
	t := tabwriter.NewWriter(&p.b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "day\trecalls\tgave memories\tmemories\tgave none\t")
	for _, d := range days {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", safeLine(d.Date), d.Recalled, d.Delivered, d.Documents, d.Recalled-d.Delivered)
	}
	if len(days) > 1 {
		fmt.Fprintf(t, "all\t%d\t%d\t%d\t%d\t\n", total.Recalled, total.Delivered, total.Documents, total.Recalled-total.Delivered)
	}
	_ = t.Flush() // to a builder: cannot fail
	if len(total.Discarded) == 0 {
		return
	}
	p.printf("\nWhat was chosen and not delivered, or why nothing was:\n")
	for _, reason := range slices.Sorted(maps.Keys(total.Discarded)) {
		p.printf("  %6d  %s\n", total.Discarded[reason], discardWords(reason))
	}
}

// discardWords says a reason in words, beside its name.
func discardWords(reason string) string {
	words := map[string]string{
		"no_relevant_results":    "nothing matched",
		"already_delivered":      "the conversation had all of it",
		"new_query":              "the next question came first",
		"abort":                  "the request was cancelled",
		"reset":                  "the conversation was started anew",
		"shutdown":               "the server ended",
		"no_safe_delivery_point": "the turn ended before there was a place for it",
	}[reason]
	if words == "" {
		return safeLine(reason)
	}
	return words + " (" + reason + ")"
}

type dayJSON struct {
	Date      string         `json:"date,omitempty"`
	Recalled  int            `json:"recalled"`
	Delivered int            `json:"delivered"`
	Documents int            `json:"documents"`
	Discarded map[string]int `json:"discarded"`
}

func newDayJSON(date string, c activity.Counts) dayJSON {
	d := dayJSON{date, c.Recalled, c.Delivered, c.Documents, c.Discarded}
	if d.Discarded == nil {
		d.Discarded = map[string]int{}
	}
	return d
}

func (p *program) statsJSON(days []activity.Day, total activity.Counts) error {
	report := struct {
		Days  []dayJSON `json:"days"`
		Total dayJSON   `json:"total"`
	}{Days: []dayJSON{}, Total: newDayJSON("", total)}
	for _, d := range days {
		report.Days = append(report.Days, newDayJSON(d.Date, d.Counts))
	}
	return p.printJSON(report)
}
