//go:build tools

package parts

import _ "helm.sh/helm/v3/cmd/helm"
