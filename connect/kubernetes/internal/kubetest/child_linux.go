package kubetest

import "syscall"

// child makes the kernel end a server when the test that started it is killed.
func child() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
