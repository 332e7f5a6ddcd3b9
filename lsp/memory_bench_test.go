package lsp_test

import (
	"fmt"
	"testing"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/recall/model/modeltest"
)

// From the request to the fast result, with a model that never answers.
func BenchmarkFastResult(b *testing.B) {
	for _, files := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			s := newStore(b, gateways())
			for i := range files {
				s.write(fmt.Sprintf("f%d.md", i), note(fmt.Sprintf("Note %d on topic%d", i, i%97), fmt.Sprintf("about word%d", i%311),
					fmt.Sprintf("The service word%d talks to topic%d over port %d, with a timeout.", i%53, i%89, i)))
			}
			stub := modeltest.Start()
			defer stub.Close()
			stub.Otherwise(modeltest.Hang())
			d := sit(b, lsp.MemoryOptions{}, asking(s, stub)).settled()
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				p := lsp.RecallParams{Token: fmt.Sprint(i), Session: fmt.Sprint("s", i%8), Query: "gateway timeout of service word7"}
				seq := len(d.client.Log())
				d.begin(p)
				if _, err := d.client.Await(b.Context(), seq, func(m Message) bool {
					return m.Method == lsp.NotifyRecallFast && decode[lsp.RecallResult](b, m.Params).Token == p.Token
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
		})
	}
}
