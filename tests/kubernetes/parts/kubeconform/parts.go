//go:build tools

package parts

import _ "github.com/yannh/kubeconform/cmd/kubeconform"
