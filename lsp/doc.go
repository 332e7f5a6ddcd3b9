// Package lsp speaks the Language Server Protocol with one client over one
// stream: framing, ordering, cancellation, error codes, the bounded outbox,
// the life cycle from initialize to exit, and the wire types of every memls
// method. It ranks nothing and writes no files; features are registered on a
// [Server] and see neither frames nor request ids.
//
// The layers, from the wire inwards:
//
//	frameReader   bytes to frame bodies, in sync whatever a body holds
//	stream        frame bodies to messages; broken ones are answered here
//	jsonrpc2.Conn dispatch on one read loop, answers to our own requests
//	peer          order, cancellation, panics, error codes
//	Server        life cycle, method table, settings, notifications
//	outbox        every outgoing frame, in order, bounded by bytes
package lsp
