package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

const batch = time.Millisecond

// unread takes floods of packets. It is kept here so that it is not closed as forgotten.
var unread net.PacketConn

// flooded is what one flood sent.
type flooded struct {
	Packets int     `json:"packets"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// flood sends packets at a rate, or without one as many bytes as a connection carries.
func flood(arguments []string) error {
	options := flag.NewFlagSet("flood", flag.ContinueOnError)
	from := options.String("from", "0.0.0.0", "the address to send from")
	port := options.Int("port", 0, "where the other side answers probes; the next one takes floods")
	rate := options.Int("rate", 0, "packets a second; 0 is a TCP connection as fast as it goes")
	size := options.Int("size", 256, "bytes of a packet")
	span := options.Duration("span", 5*time.Second, "how long")
	if err := options.Parse(arguments); err != nil {
		return err
	}
	if options.NArg() != 1 {
		return errors.New("flood: name one address")
	}
	to := net.JoinHostPort(options.Arg(0), strconv.Itoa(*port+1))
	local := net.ParseIP(*from)
	started := time.Now()
	var sent flooded
	var err error
	if *rate > 0 {
		sent, err = floodPackets(&net.UDPAddr{IP: local}, to, *rate, *size, *span)
	} else {
		sent, err = floodBytes(&net.TCPAddr{IP: local}, to, *span)
	}
	if err != nil {
		return err
	}
	sent.Seconds = time.Since(started).Seconds()
	return json.NewEncoder(os.Stdout).Encode(sent)
}

func floodPackets(from *net.UDPAddr, to string, rate, size int, span time.Duration) (flooded, error) {
	address, err := net.ResolveUDPAddr("udp4", to)
	if err != nil {
		return flooded{}, err
	}
	socket, err := net.DialUDP("udp4", from, address)
	if err != nil {
		return flooded{}, err
	}
	defer socket.Close()
	packet := make([]byte, size)
	var sent flooded
	started := time.Now()
	for elapsed := time.Duration(0); elapsed < span; elapsed = time.Since(started) {
		for due := int(elapsed.Seconds() * float64(rate)); sent.Packets < due; sent.Packets++ {
			// Nobody reads them: what matters is the way there.
			_, _ = socket.Write(packet)
		}
		time.Sleep(batch)
	}
	sent.Bytes = int64(sent.Packets) * int64(size)
	return sent, nil
}

func floodBytes(from *net.TCPAddr, to string, span time.Duration) (flooded, error) {
	dialer := net.Dialer{LocalAddr: from, Timeout: 10 * time.Second}
	limited, cancel := context.WithTimeout(context.Background(), span+dialer.Timeout)
	defer cancel()
	connection, err := dialer.DialContext(limited, "tcp4", to)
	if err != nil {
		return flooded{}, err
	}
	defer connection.Close()
	block := make([]byte, 1<<17)
	var sent flooded
	for started := time.Now(); time.Since(started) < span; {
		count, err := connection.Write(block)
		sent.Bytes += int64(count)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// takeFloods binds the port of floods: packets die there unread, connections are read and forgotten.
func takeFloods(address *net.UDPAddr) error {
	next := net.JoinHostPort(address.IP.String(), strconv.Itoa(address.Port+1))
	var err error
	if unread, err = net.ListenPacket("udp4", next); err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", next)
	if err != nil {
		return err
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				continue
			}
			go func() {
				_, _ = io.Copy(io.Discard, connection)
				_ = connection.Close()
			}()
		}
	}()
	return nil
}
