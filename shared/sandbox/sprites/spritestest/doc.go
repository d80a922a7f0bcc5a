// Package spritestest is a Sprites service of the tests' own: its routes over HTTP
// and WebSocket, with real processes of this machine behind them, one folder a
// sprite, and the ways in which the service is known to fail.
package spritestest
