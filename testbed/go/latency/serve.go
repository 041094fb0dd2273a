package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"
)

const (
	queueLength   = 1 << 17
	burst         = 256
	timerSlackSet = 29 // prctl: how late the kernel may wake us
)

// settings is what the file says. Times are in microseconds.
type settings struct {
	Address string  `json:"address"`
	Queues  []class `json:"queues"`
}

type class struct {
	Number   uint16  `json:"number"`
	DelayUS  int64   `json:"delay_us"`
	JitterUS int64   `json:"jitter_us"`
	Loss     float64 `json:"loss"`
}

type held struct {
	id    uint32
	dueNS int64
}

// line holds the packets of one queue, in the order in which they came and will leave.
type line struct {
	class   class
	packets []held
	first   int
	lastNS  int64
}

type server struct {
	link  *netlink
	lines map[uint16]*line
}

func serve(path string) error {
	wanted, err := read(path)
	if err != nil {
		return err
	}
	if err := answerProbes(wanted.Address); err != nil {
		return err
	}
	link, err := openNetlink()
	if err != nil {
		return err
	}
	s := &server{link: link, lines: map[uint16]*line{}}
	if err := s.take(wanted.Queues); err != nil {
		return err
	}
	return s.loop(path)
}

func read(path string) (settings, error) {
	var wanted settings
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &wanted)
	}
	return wanted, err
}

// take binds the queues that are new, changes those that are known and gives up the others.
func (s *server) take(classes []class) error {
	wanted := map[uint16]bool{}
	for _, class := range classes {
		wanted[class.Number] = true
		if known := s.lines[class.Number]; known != nil {
			known.class = class
			continue
		}
		if err := s.link.bind(class.Number, queueLength); err != nil {
			return err
		}
		s.lines[class.Number] = &line{class: class}
	}
	for number := range s.lines {
		if !wanted[number] {
			// Unbinding drops what is held: let it go first.
			s.release(number, s.lines[number], 1<<62)
			if err := s.link.unbind(number); err != nil {
				return err
			}
			delete(s.lines, number)
		}
	}
	return nil
}

// loop serves all queues in one thread: the kernel's own timer is then the only thing between a
// packet's time and its release. Go's timers are rounded to milliseconds.
func (s *server) loop(path string) error {
	runtime.LockOSThread()
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, timerSlackSet, 1, 0)
	orders, err := wakeOnHangup()
	if err != nil {
		return err
	}
	buffer := make([]byte, 1<<16)
	for {
		nextNS := s.releaseDue(nowNS())
		readable, ordered, err := wait(s.link.fd, orders, nextNS)
		if err != nil {
			return err
		}
		if ordered {
			_, _ = syscall.Read(orders, buffer)
			if err := s.reload(path); err != nil {
				return err
			}
		}
		if readable {
			if err := s.receive(buffer); err != nil {
				return err
			}
		}
	}
}

func (s *server) reload(path string) error {
	wanted, err := read(path)
	if err != nil {
		// A file that makes no sense changes nothing: the measurement that follows will tell.
		fmt.Fprintln(os.Stderr, "latency:", err)
		return nil
	}
	return s.take(wanted.Queues)
}

func (s *server) receive(buffer []byte) error {
	for range burst {
		size, _, err := syscall.Recvfrom(s.link.fd, buffer, syscall.MSG_DONTWAIT)
		if errors.Is(err, syscall.EAGAIN) {
			return nil
		}
		if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ENOBUFS) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		now := nowNS()
		eachPacket(buffer[:size], func(queue uint16, id uint32) { s.hold(queue, id, now) })
	}
	return nil
}

func (s *server) hold(queue uint16, id uint32, nowNS int64) {
	line := s.lines[queue]
	if line == nil {
		_ = s.link.verdict(queue, id, verdictAccept)
		return
	}
	if line.class.Loss > 0 && rand.Float64() < line.class.Loss {
		_ = s.link.verdict(queue, id, verdictDrop)
		return
	}
	delayUS := line.class.DelayUS
	if jitter := line.class.JitterUS; jitter > 0 {
		delayUS = max(0, delayUS+rand.Int64N(2*jitter+1)-jitter)
	}
	// Packets never overtake each other, as on a wire.
	line.lastNS = max(line.lastNS, nowNS+delayUS*1000)
	line.packets = append(line.packets, held{id: id, dueNS: line.lastNS})
}

// releaseDue lets go what is due and returns when the next packet is, or -1.
func (s *server) releaseDue(nowNS int64) int64 {
	next := int64(-1)
	for number, line := range s.lines {
		s.release(number, line, nowNS)
		if line.first < len(line.packets) {
			if due := line.packets[line.first].dueNS; next < 0 || due < next {
				next = due
			}
		}
	}
	return next
}

func (s *server) release(number uint16, line *line, untilNS int64) {
	end := line.first
	for end < len(line.packets) && line.packets[end].dueNS <= untilNS {
		end++
	}
	if end == line.first {
		return
	}
	if err := s.link.acceptUpTo(number, line.packets[end-1].id); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
	}
	line.first = end
	if end == len(line.packets) {
		line.packets, line.first = line.packets[:0], 0
	} else if end > 4096 && end > len(line.packets)/2 {
		line.packets, line.first = append(line.packets[:0], line.packets[end:]...), 0
	}
}

// wakeOnHangup returns a pipe's end that becomes readable on SIGHUP.
func wakeOnHangup() (int, error) {
	ends := make([]int, 2)
	if err := syscall.Pipe2(ends, syscall.O_CLOEXEC); err != nil {
		return 0, os.NewSyscallError("pipe", err)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			_, _ = syscall.Write(ends[1], []byte{1})
		}
	}()
	return ends[0], nil
}

type pollEntry struct {
	fd      int32
	wanted  int16
	flagged int16
}

const pollIn = 1

func wait(link, orders int, untilNS int64) (readable, ordered bool, err error) {
	entries := [2]pollEntry{{fd: int32(link), wanted: pollIn}, {fd: int32(orders), wanted: pollIn}}
	var limit unsafe.Pointer
	var span syscall.Timespec
	if untilNS >= 0 {
		span = syscall.NsecToTimespec(max(0, untilNS-nowNS()))
		limit = unsafe.Pointer(&span)
	}
	_, _, code := syscall.Syscall6(
		syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&entries)), 2, uintptr(limit), 0, 0, 0)
	if code != 0 && code != syscall.EINTR {
		return false, false, os.NewSyscallError("ppoll", code)
	}
	return entries[0].flagged != 0, entries[1].flagged != 0, nil
}

// nowNS reads the clock that all containers of one machine share.
func nowNS() int64 {
	var now syscall.Timespec
	const monotonic = 1
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func answerProbes(address string) error {
	socket, err := net.ListenPacket("udp4", address)
	if err != nil {
		return err
	}
	if own, ok := socket.LocalAddr().(*net.UDPAddr); ok {
		if err := takeFloods(own); err != nil {
			return err
		}
	}
	go func() {
		buffer := make([]byte, 64)
		for {
			size, from, err := socket.ReadFrom(buffer)
			if err != nil {
				continue
			}
			if answer := stamped(buffer[:size], nowNS()); answer != nil {
				_, _ = socket.WriteTo(answer, from)
			}
		}
	}()
	return nil
}
