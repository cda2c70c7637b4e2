//go:build !linux

package kubetest

import "syscall"

func child() *syscall.SysProcAttr { return nil }
