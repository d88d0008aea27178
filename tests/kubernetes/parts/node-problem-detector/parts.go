//go:build tools

package parts

import (
	_ "k8s.io/node-problem-detector/cmd/healthchecker"
	_ "k8s.io/node-problem-detector/cmd/logcounter"
	_ "k8s.io/node-problem-detector/cmd/nodeproblemdetector"
)
