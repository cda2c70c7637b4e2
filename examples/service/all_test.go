//go:build all

package main

const kills = 400
