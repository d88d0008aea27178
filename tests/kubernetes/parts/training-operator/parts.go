//go:build tools

package parts

import _ "github.com/kubeflow/training-operator/cmd/training-operator.v1"
