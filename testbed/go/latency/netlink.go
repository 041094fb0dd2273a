package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
)

// The part of the kernel's nfnetlink_queue interface that is needed to hold packets back. Numbers
// in headers are in the machine's order, all others in the network's.
const (
	netlinkNetfilter   = 12
	subsystemQueue     = 3 << 8
	messagePacket      = subsystemQueue | 0
	messageVerdict     = subsystemQueue | 1
	messageConfigure   = subsystemQueue | 2
	messageVerdictMany = subsystemQueue | 3

	attributeCommand = 1
	attributeCopy    = 2
	attributeLength  = 3
	attributeMask    = 4
	attributeFlags   = 5
	attributePacket  = 1
	attributeVerdict = 2

	commandBind   = 1
	commandUnbind = 2
	copyMeta      = 1 // the packets' content stays in the kernel
	flagWhole     = 4 // large packets come as one, not cut to the link's size

	verdictDrop   = 0
	verdictAccept = 1

	solNetlink         = 270
	netlinkNoBufferErr = 5
	receiveBytes       = 16 << 20
	headerBytes        = 20
)

type netlink struct {
	fd       int
	sequence uint32
}

func openNetlink() (*netlink, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkNetfilter)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	// A packet that finds no room here is lost; that shows in /proc/net/netfilter/nfnetlink_queue.
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, receiveBytes)
	_ = syscall.SetsockoptInt(fd, solNetlink, netlinkNoBufferErr, 1)
	return &netlink{fd: fd}, nil
}

func (n *netlink) bind(queue uint16, length uint32) error {
	command := attribute(attributeCommand, []byte{commandBind, 0, 0, 0})
	if err := n.configure(queue, command); err != nil {
		return fmt.Errorf("queue %d: %w (does another process hold it?)", queue, err)
	}
	if err := n.configure(queue, attribute(attributeCopy, []byte{0, 0, 0, 0, copyMeta})); err != nil {
		return err
	}
	if err := n.configure(queue, attribute(attributeLength, number(length))); err != nil {
		return err
	}
	flags := append(attribute(attributeFlags, number(flagWhole)), attribute(attributeMask, number(flagWhole))...)
	return n.configure(queue, flags)
}

func (n *netlink) unbind(queue uint16) error {
	return n.configure(queue, attribute(attributeCommand, []byte{commandUnbind, 0, 0, 0}))
}

// configure sends one request and waits for the kernel's word on it. Packets of queues that are
// bound already may come first; they are released at once.
func (n *netlink) configure(queue uint16, attributes []byte) error {
	flags := uint16(syscall.NLM_F_REQUEST | syscall.NLM_F_ACK)
	if err := n.send(messageConfigure, flags, queue, attributes); err != nil {
		return err
	}
	awaited := n.sequence
	buffer := make([]byte, 1<<16)
	for {
		size, _, err := syscall.Recvfrom(n.fd, buffer, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		code, done := acknowledged(buffer[:size], awaited)
		if done {
			if code != 0 {
				return syscall.Errno(code)
			}
			return nil
		}
		eachPacket(buffer[:size], func(queue uint16, id uint32) { _ = n.verdict(queue, id, verdictAccept) })
	}
}

func acknowledged(buffer []byte, sequence uint32) (code uint32, done bool) {
	for len(buffer) >= headerBytes {
		size := binary.NativeEndian.Uint32(buffer)
		kind := binary.NativeEndian.Uint16(buffer[4:])
		if kind == syscall.NLMSG_ERROR && binary.NativeEndian.Uint32(buffer[8:]) == sequence {
			return -binary.NativeEndian.Uint32(buffer[16:]), true
		}
		buffer = rest(buffer, size)
	}
	return 0, false
}

// verdict decides one packet; acceptUpTo all packets of a queue that came before `id`, and `id`.
func (n *netlink) verdict(queue uint16, id uint32, verdict uint32) error {
	return n.send(messageVerdict, syscall.NLM_F_REQUEST, queue, verdictOf(id, verdict))
}

func (n *netlink) acceptUpTo(queue uint16, id uint32) error {
	return n.send(messageVerdictMany, syscall.NLM_F_REQUEST, queue, verdictOf(id, verdictAccept))
}

func verdictOf(id, verdict uint32) []byte {
	return attribute(attributeVerdict, append(number(verdict), number(id)...))
}

func (n *netlink) send(kind, flags, queue uint16, attributes []byte) error {
	n.sequence++
	message := make([]byte, headerBytes, headerBytes+len(attributes))
	binary.NativeEndian.PutUint32(message, uint32(headerBytes+len(attributes)))
	binary.NativeEndian.PutUint16(message[4:], kind)
	binary.NativeEndian.PutUint16(message[6:], flags)
	binary.NativeEndian.PutUint32(message[8:], n.sequence)
	binary.BigEndian.PutUint16(message[18:], queue)
	message = append(message, attributes...)
	err := syscall.Sendto(n.fd, message, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK})
	return os.NewSyscallError("sendto", err)
}

// eachPacket calls `found` with the queue and the number of every packet in a received block.
func eachPacket(buffer []byte, found func(queue uint16, id uint32)) {
	for len(buffer) >= headerBytes {
		size := binary.NativeEndian.Uint32(buffer)
		if size < headerBytes || int(size) > len(buffer) {
			return
		}
		if binary.NativeEndian.Uint16(buffer[4:]) == messagePacket {
			if id, ok := packetNumber(buffer[headerBytes:size]); ok {
				found(binary.BigEndian.Uint16(buffer[18:]), id)
			}
		}
		buffer = rest(buffer, size)
	}
}

func packetNumber(attributes []byte) (uint32, bool) {
	for len(attributes) >= 4 {
		size := binary.NativeEndian.Uint16(attributes)
		kind := binary.NativeEndian.Uint16(attributes[2:])
		if size < 4 || int(size) > len(attributes) {
			break
		}
		if kind == attributePacket && size >= 8 {
			return binary.BigEndian.Uint32(attributes[4:]), true
		}
		attributes = rest(attributes, uint32(size))
	}
	return 0, false
}

func attribute(kind uint16, value []byte) []byte {
	padded := make([]byte, (4+len(value)+3)&^3)
	binary.NativeEndian.PutUint16(padded, uint16(4+len(value)))
	binary.NativeEndian.PutUint16(padded[2:], kind)
	copy(padded[4:], value)
	return padded
}

func number(value uint32) []byte { return binary.BigEndian.AppendUint32(nil, value) }

func rest(buffer []byte, size uint32) []byte {
	aligned := (int(size) + 3) &^ 3
	if size == 0 || aligned >= len(buffer) {
		return nil
	}
	return buffer[aligned:]
}
