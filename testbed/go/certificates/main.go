// Command certificates writes what one control plane needs to be trusted: a certificate
// authority, a server certificate for 127.0.0.1, and a key that signs service account tokens.
// It is a program of its own so that the test bed needs nothing beyond Go and Python.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: certificates DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "certificates:", err)
		os.Exit(1)
	}
}

func write(directory string) error {
	authorityKey, err := newKey()
	if err != nil {
		return err
	}
	authority := template("thalweg-testbed-ca", 1)
	authority.IsCA = true
	// Named so that the server certificate can point to it: Python 3.13 insists.
	authority.SubjectKeyId = []byte("thalweg-testbed-ca")
	authority.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	if err := writeCertificate(directory, "ca", authority, authority, authorityKey.Public(), authorityKey); err != nil {
		return err
	}
	serverKey, err := newKey()
	if err != nil {
		return err
	}
	server := template("kube-apiserver", 2)
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = []net.IP{net.ParseIP("127.0.0.1")}
	server.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	if err := writeCertificate(directory, "server", server, authority, serverKey.Public(), authorityKey); err != nil {
		return err
	}
	if err := writeKey(directory, "server", serverKey); err != nil {
		return err
	}
	serviceAccountKey, err := newKey()
	if err != nil {
		return err
	}
	return writeKey(directory, "service-account", serviceAccountKey)
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func template(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-24 * time.Hour),
		NotAfter:              time.Now().Add(10 * 365 * 24 * time.Hour),
		BasicConstraintsValid: true,
	}
}

func writeCertificate(
	directory, name string, certificate, issuer *x509.Certificate, key crypto.PublicKey, signer crypto.Signer,
) error {
	der, err := x509.CreateCertificate(rand.Reader, certificate, issuer, key, signer)
	if err != nil {
		return err
	}
	return writePEM(directory, name+".crt", "CERTIFICATE", der)
}

func writeKey(directory, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(directory, name+".key", "EC PRIVATE KEY", der)
}

func writePEM(directory, name, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return os.WriteFile(filepath.Join(directory, name), text, 0o600)
}
