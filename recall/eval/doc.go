// Package eval judges rankers over labelled sets: documents, queries, and which documents answer which query.
//
// It owns the two file formats of such sets, the metrics, the random floor and a frozen re-implementation of the scorer
// that qwen-code 0.24.4 ships, so that every figure of ours stands beside the same two yardsticks and "no regression" can be
// reproduced by anybody. It knows no index and no protocol: the ranker under test comes in through a [Factory].
package eval
