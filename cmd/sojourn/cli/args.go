package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// onlyFlags is the Args of a command that takes no arguments.
func onlyFlags(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q: %s takes only flags", args[0], cmd.Name())
}

// oneFile is the Args of a command that reads a file.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no file: %s takes one, or - for stdin", cmd.Name())
	}
	return atMostOne(cmd, args)
}

// someFiles is the Args of a command that reads files.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return oneFile(cmd, args)
	}
	return nil
}

// atMostOne is the Args of a command that takes an argument or none.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q: %s takes one, and flags", args[1], cmd.Name())
	}
	return nil
}
