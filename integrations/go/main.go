// Claims a worker, keeps the claim alive for a while, and releases it:
//
//	MOORING_URL=... MOORING_TOKEN=... go run . NAMESPACE/POOL OWNER [SECONDS]
//
// The client in ./mooring is generated from /openapi.json; see README.md.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"example.com/claim/mooring"
)

const ttlSeconds = 30

func main() {
	if len(os.Args) < 3 || !strings.Contains(os.Args[1], "/") {
		fail("usage: claim NAMESPACE/POOL OWNER [SECONDS]")
	}
	seconds := 0.0 // one heartbeat
	if len(os.Args) > 3 {
		var err error
		if seconds, err = strconv.ParseFloat(os.Args[3], 64); err != nil {
			fail("SECONDS is not a number: " + os.Args[3])
		}
	}
	client, err := mooring.NewClientWithResponses(os.Getenv("MOORING_URL"), mooring.WithRequestEditorFn(authorize))
	if err != nil {
		fail(err.Error())
	}
	if err := hold(context.Background(), client, os.Args[1], os.Args[2], seconds); err != nil {
		fail(err.Error())
	}
}

// hold claims a worker, works for some seconds under heartbeats, and releases it.
func hold(ctx context.Context, client *mooring.ClientWithResponses, pool, owner string, seconds float64) error {
	claim, err := create(ctx, client, pool, owner)
	if err != nil {
		return err
	}
	epoch := *claim.Epoch // the fencing token: sent with every act on the claim
	fmt.Printf("claimed %s at %s, epoch %d\n", claim.Worker.Name, claim.Worker.Address, epoch)
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for beats := 1; ; beats++ {
		if err := heartbeat(ctx, client, claim.Id, epoch); err != nil {
			return err
		}
		fmt.Printf("heartbeat %d accepted\n", beats)
		left := time.Until(until)
		if left <= 0 {
			break
		}
		time.Sleep(min(left, ttlSeconds*time.Second/3))
	}
	if err := heartbeat(ctx, client, claim.Id, epoch-1); err == nil {
		return fmt.Errorf("a heartbeat under an old epoch was accepted")
	} else {
		fmt.Println("under an old epoch:", err)
	}
	released, err := client.ReleaseClaimWithResponse(ctx, claim.Id, &mooring.ReleaseClaimParams{Epoch: &epoch})
	if err != nil {
		return err
	}
	if released.JSON200 == nil {
		return refusal(released.JSONDefault)
	}
	fmt.Println("the claim is", released.JSON200.State)
	return nil
}

// create repeats the request under one key, so that a lost answer never costs a second worker.
func create(ctx context.Context, client *mooring.ClientWithResponses, pool, owner string) (*mooring.ClaimReading, error) {
	namespace, name, _ := strings.Cut(pool, "/")
	ttl, wait, key := int64(ttlSeconds), 20.0, fmt.Sprintf("go-%d-%d", os.Getpid(), time.Now().UnixNano())
	body := mooring.ClaimRequest{Owner: &owner, TtlSeconds: &ttl, Wait: &wait, IdempotencyKey: &key}
	for attempt := 1; ; attempt++ {
		answer, err := client.CreateClaimWithResponse(ctx, namespace, name, body)
		switch {
		case err == nil && answer.JSON201 != nil:
			return answer.JSON201, nil
		case err == nil && answer.StatusCode() < 500 && answer.StatusCode() != http.StatusTooManyRequests:
			return nil, refusal(answer.JSONDefault) // repeating it would not help
		case attempt == 5 && err == nil:
			return nil, refusal(answer.JSONDefault)
		case attempt == 5:
			return nil, err
		}
		time.Sleep(time.Duration(attempt) * time.Second)
	}
}

func heartbeat(ctx context.Context, client *mooring.ClientWithResponses, id string, epoch int64) error {
	answer, err := client.BeatClaimWithResponse(ctx, id, mooring.Beat{Epoch: epoch})
	if err != nil {
		return err
	}
	if answer.JSON200 == nil {
		return refusal(answer.JSONDefault)
	}
	return nil
}

func refusal(body *mooring.ErrorBody) error {
	if body == nil {
		return fmt.Errorf("the answer is not Mooring's")
	}
	return fmt.Errorf("%s: %s", body.Code, body.Message)
}

func authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("MOORING_TOKEN"))
	return nil
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}
