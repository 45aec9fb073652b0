package guide

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// twin is a server of a test's own, so that tests run in parallel and each controls its clock and faults.
type twin struct {
	t        *testing.T
	endpoint string
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// startTwin starts the `dynatwin` command, which takes milliseconds, and stops it after the test.
func startTwin(t *testing.T) *twin {
	t.Helper()
	program := os.Getenv("DYNATWIN")
	if program == "" {
		program = "dynatwin"
	}
	server := exec.Command(program, "--port", "0", "--seed", "7", "--clock", "settable")
	server.Stderr = os.Stderr
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if endpoint := address.FindString(lines.Text()); endpoint != "" {
			return &twin{t, endpoint}
		}
	}
	t.Fatal("the server printed no address")
	return nil
}

// client returns a client of the server. In versions of the SDK from 2024, `BaseEndpoint: aws.String(twin.endpoint)`
// replaces the resolver.
func (twin *twin) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:           "us-east-1",
		Credentials:      credentials.NewStaticCredentialsProvider("example", "example", ""),
		EndpointResolver: dynamodb.EndpointResolverFromURL(twin.endpoint),
	})
}

// control sends a request of the control API and decodes its answer into `answer`.
func (twin *twin) control(method, path string, body, answer any) {
	twin.t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		twin.t.Fatal(err)
	}
	request, err := http.NewRequest(method, twin.endpoint+"/_dynatwin/"+path, bytes.NewReader(sent))
	if err != nil {
		twin.t.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		twin.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		twin.t.Fatalf("%s %s: %s", method, path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		twin.t.Fatal(err)
	}
}

// advance advances the server's clock, and applies all due work before it returns.
func (twin *twin) advance(seconds float64) {
	twin.t.Helper()
	var answer any
	twin.control("POST", "clock/advance", map[string]any{"seconds": seconds}, &answer)
}

// fault adds a fault rule, and returns its number.
func (twin *twin) fault(rule map[string]any) int {
	twin.t.Helper()
	var added struct{ ID int }
	twin.control("POST", "faults", rule, &added)
	return added.ID
}

// removeFault removes a fault rule, and returns how often it acted.
func (twin *twin) removeFault(id int) int {
	twin.t.Helper()
	var removed struct{ Fired int }
	twin.control("DELETE", fmt.Sprintf("faults/%d", id), nil, &removed)
	return removed.Fired
}
