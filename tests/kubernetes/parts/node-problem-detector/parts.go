//go:build tools

package parts

import _ "k8s.io/node-problem-detector/cmd/nodeproblemdetector"
