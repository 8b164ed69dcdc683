// Asks a service with one client library, and prints what its user gets, as JSON.
//
// Usage: clients LIBRARY BASE_URL KEY MODEL
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	official "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	community "github.com/sashabaranov/go-openai"
)

type ask func(text string) (string, error)

func withOfficial(url, key, model string) (whole, stream ask) {
	client := official.NewClient(option.WithBaseURL(url), option.WithAPIKey(key), option.WithMaxRetries(0))
	request := func(text string) official.ChatCompletionNewParams {
		messages := []official.ChatCompletionMessageParamUnion{official.UserMessage(text)}
		return official.ChatCompletionNewParams{Model: model, Messages: messages}
	}
	whole = func(text string) (string, error) {
		answer, err := client.Chat.Completions.New(context.Background(), request(text))
		if err != nil {
			return "", err
		}
		return answer.Choices[0].Message.Content, nil
	}
	stream = func(text string) (string, error) {
		events := client.Chat.Completions.NewStreaming(context.Background(), request(text))
		said := ""
		for events.Next() {
			for _, choice := range events.Current().Choices {
				said += choice.Delta.Content
			}
		}
		return said, events.Err()
	}
	return whole, stream
}

func withCommunity(url, key, model string) (whole, stream ask) {
	config := community.DefaultConfig(key)
	config.BaseURL = url
	client := community.NewClientWithConfig(config)
	request := func(text string) community.ChatCompletionRequest {
		messages := []community.ChatCompletionMessage{{Role: "user", Content: text}}
		return community.ChatCompletionRequest{Model: model, Messages: messages}
	}
	whole = func(text string) (string, error) {
		answer, err := client.CreateChatCompletion(context.Background(), request(text))
		if err != nil {
			return "", err
		}
		return answer.Choices[0].Message.Content, nil
	}
	stream = func(text string) (string, error) {
		events, err := client.CreateChatCompletionStream(context.Background(), request(text))
		if err != nil {
			return "", err
		}
		defer events.Close()
		for said := ""; ; {
			event, err := events.Recv()
			if errors.Is(err, io.EOF) {
				return said, nil
			}
			if err != nil {
				return said, err
			}
			for _, choice := range event.Choices {
				said += choice.Delta.Content
			}
		}
	}
	return whole, stream
}

func outcome(act ask, text string) map[string]string {
	said, err := act(text)
	if err != nil {
		return map[string]string{"error": fmt.Sprintf("%T", err)}
	}
	return map[string]string{"said": said}
}

func main() {
	libraries := map[string]func(url, key, model string) (ask, ask){
		"openai-go": withOfficial,
		"go-openai": withCommunity,
	}
	whole, stream := libraries[os.Args[1]](os.Args[2], os.Args[3], os.Args[4])
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"whole":    outcome(whole, "hi"),
		"streamed": outcome(stream, "hi there"),
		"broken":   outcome(stream, "break off"),
		"failed":   outcome(whole, "fail 502"),
	})
}
