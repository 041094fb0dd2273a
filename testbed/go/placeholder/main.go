// Command placeholder stands where a stream worker will run: it exports the three metrics of the
// contract, answers on a port, and ends on SIGTERM. It is also what the test bed looks around with
// from inside a pod:
//
//	placeholder                 serve (also with any other word: examples pass a vertex's name)
//	placeholder fetch URL       print what an address answers
//	placeholder lookup NAME     print the addresses of a name
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	address  = ":8080"
	patience = 10 * time.Second
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "placeholder:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	limited, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if len(arguments) == 2 && arguments[0] == "fetch" {
		return fetch(limited, arguments[1])
	}
	if len(arguments) == 2 && arguments[0] == "lookup" {
		found, err := net.DefaultResolver.LookupHost(limited, arguments[1])
		fmt.Println(strings.Join(found, " "))
		return err
	}
	return serve()
}

func fetch(limited context.Context, url string) error {
	request, err := http.NewRequestWithContext(limited, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func serve() error {
	started := time.Now()
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		labels := fmt.Sprintf(
			"{topology=%q,vertex=%q,task=%q}",
			os.Getenv("THALWEG_TOPOLOGY"), os.Getenv("THALWEG_VERTEX"), os.Getenv("THALWEG_TASK"))
		for _, name := range []string{"tuples_total", "processed_total", "busy_seconds_total"} {
			fmt.Fprintf(w, "# TYPE thalweg_%s counter\nthalweg_%s%s 0\n", name, name, labels)
		}
	})
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%s on %s for %.3f s\n", os.Getenv("THALWEG_POD"), os.Getenv("THALWEG_NODE"), time.Since(started).Seconds())
	})
	server := &http.Server{Addr: address, ReadHeaderTimeout: patience}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-stopped
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}
