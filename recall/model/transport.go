package model

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// connectTimeout is for the TCP connection alone. A model may think for
	// half a minute, but a host that does not even pick up is not there.
	connectTimeout = 2 * time.Second
	tlsTimeout     = 5 * time.Second
	idleConn       = 90 * time.Second
	maxRedirects   = 3
	maxHeaderBytes = 64 << 10
)

// newTransport has no time-out on response headers: an endpoint that does not
// stream sends them when the whole answer is computed, so only the call's
// deadline can tell too long.
func newTransport(inFlight int) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:    tlsTimeout,
		MaxIdleConnsPerHost:    inFlight,
		IdleConnTimeout:        idleConn,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
	}
}

// redirectError is a redirect that was not followed.
type redirectError struct{ to, why string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("the endpoint redirects to %s, %s; set model.baseURL to the final address", e.to, e.why)
}

// checkRedirect follows a redirect only within the endpoint's own origin and
// only when the request stays what it was. The key must not reach a host that
// the person did not name, and neither must the question, which quotes their
// memory; net/http itself would hand the key to sub-domains and other ports.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host:
		return &redirectError{to: origin(req.URL), why: "which is another server"}
	case req.Method != first.Method:
		return &redirectError{to: origin(req.URL) + req.URL.Path, why: "which would drop the question"}
	case len(via) > maxRedirects:
		return &redirectError{to: origin(req.URL) + req.URL.Path, why: "once too often"}
	}
	return nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
