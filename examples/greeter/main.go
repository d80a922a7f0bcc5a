// Command greeter greets those who know its token.
package main

import (
	"log"
	"net/http"
	"time"
)

func main() {
	c, err := loadConfig()
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: "127.0.0.1:8090", Handler: newGreeter(c), ReadHeaderTimeout: 5 * time.Second}
	log.Printf("listening on %s", server.Addr)
	log.Fatal(server.ListenAndServe())
}
