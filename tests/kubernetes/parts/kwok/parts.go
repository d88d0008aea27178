//go:build tools

package parts

import _ "sigs.k8s.io/kwok/cmd/kwok"
