//go:build linux

package main

import (
	"cmp"
	"net"
	"net/url"
	"strconv"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/listen"
)

const usualPort = "7443"

// openForJoin listens, and finds the address at which the server reaches this
// machine: the one that is named, else the one that leads to the server.
func (o *joinOptions) openForJoin() (net.Listener, string, error) {
	u, err := url.Parse(o.server)
	if err != nil {
		return nil, "", berth.Errorf(berth.CodeInvalid, "the server's URL is none")
	}
	here := credentials.IsLoopback(u.Hostname())
	usual := ":" + usualPort
	if here {
		usual = "127.0.0.1:" + usualPort
	}
	l, err := listen.Open(cmp.Or(o.listen, usual))
	if err != nil || o.address != "" {
		return l, o.address, err
	}
	at := l.Addr().(*net.TCPAddr) // listen.Open gives no other
	ip := at.IP
	switch {
	case ip.IsUnspecified():
		if ip, err = routeTo(u); err != nil {
			l.Close()
			return nil, "", err
		}
	case ip.IsLoopback() && !here:
		l.Close()
		return nil, "", &berth.Error{
			Code: berth.CodeInvalid, Field: "--listen", Message: "is an address that only this machine itself reaches, and the server is elsewhere",
			Remediation: "listen on :" + usualPort + " or on an address of this machine's network; or name with --address from where calls are forwarded",
		}
	}
	return l, "https://" + net.JoinHostPort(ip.String(), strconv.Itoa(at.Port)), nil
}

// routeTo is this machine's address on the way to a server. Nothing is sent.
func routeTo(u *url.URL) (net.IP, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "no way leads from here to " + u.Host, Cause: err,
			Remediation: "check the server's URL and this machine's network; or name the address with --address",
		}
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP, nil
}

// listenedOn is where an agent listens again that has joined: on the same port,
// and on all addresses if it did.
func listenedOn(l net.Listener) string {
	at := l.Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = ""
	}
	return net.JoinHostPort(host, strconv.Itoa(at.Port))
}
