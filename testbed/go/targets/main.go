// Command targets tells Prometheus which pods to scrape, by its HTTP service discovery: Debian's
// Prometheus is built without Kubernetes'. It runs beside Prometheus in one pod and asks the API
// server as that pod's service account.
//
// Scraped are running pods with the label thalweg.dev/topology or the annotation
// prometheus.io/scrape: "true", on the port of the first container that is named metrics, else on
// its first. Under /kubelets are all nodes' kubelets, which tell what every container uses.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	address  = "127.0.0.1:9099"
	account  = "/var/run/secrets/kubernetes.io/serviceaccount/"
	patience = 10 * time.Second
	label    = "thalweg.dev/topology"
	wish     = "prometheus.io/scrape"
	kubelet  = "10250"
)

type port struct {
	Name          string `json:"name"`
	ContainerPort int    `json:"containerPort"`
}

type pod struct {
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Ports []port `json:"ports"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP"`
	} `json:"status"`
}

type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Addresses []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
	} `json:"status"`
}

type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "targets:", err)
		os.Exit(1)
	}
}

func run() error {
	authorities, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authorities)
	client := &http.Client{
		Timeout:   patience,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}},
	}
	http.HandleFunc("/", answering(client, "pods", groups))
	http.HandleFunc("/kubelets", answering(client, "nodes", kubelets))
	server := &http.Server{Addr: address, ReadHeaderTimeout: patience}
	return server.ListenAndServe()
}

// answering serves what becomes of all objects of one resource.
func answering[T any](client *http.Client, resource string, condense func([]T) []group) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var found struct {
			Items []T `json:"items"`
		}
		if err := list(r.Context(), client, resource, &found); err != nil {
			// Prometheus keeps the targets that it has.
			fmt.Fprintln(os.Stderr, "targets:", err)
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(condense(found.Items))
	}
}

func list(ctx context.Context, client *http.Client, resource string, into any) error {
	// Read anew each time: the kubelet replaces it before it runs out.
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	host := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/api/v1/"+resource, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
		return fmt.Errorf("the API server answered %d: %s", answer.StatusCode, text)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

func groups(pods []pod) []group {
	found := []group{}
	for _, one := range pods {
		number := portOf(one)
		_, isWorker := one.Metadata.Labels[label]
		isWanted := isWorker || one.Metadata.Annotations[wish] == "true"
		if !isWanted || number == 0 || one.Status.Phase != "Running" || one.Status.PodIP == "" {
			continue
		}
		found = append(found, group{
			Targets: []string{net.JoinHostPort(one.Status.PodIP, strconv.Itoa(number))},
			Labels: map[string]string{
				"namespace": one.Metadata.Namespace,
				"pod":       one.Metadata.Name,
				"node":      one.Spec.NodeName,
			},
		})
	}
	return found
}

func kubelets(nodes []node) []group {
	found := []group{}
	for _, one := range nodes {
		for _, candidate := range one.Status.Addresses {
			if candidate.Type == "InternalIP" {
				found = append(found, group{
					Targets: []string{net.JoinHostPort(candidate.Address, kubelet)},
					Labels:  map[string]string{"node": one.Metadata.Name},
				})
				break
			}
		}
	}
	return found
}

func portOf(one pod) int {
	first := 0
	for _, container := range one.Spec.Containers {
		for _, candidate := range container.Ports {
			if candidate.Name == "metrics" {
				return candidate.ContainerPort
			}
			if first == 0 {
				first = candidate.ContainerPort
			}
		}
	}
	return first
}
