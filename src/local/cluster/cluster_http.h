// The local cluster's own HTTP paths, beside the Kubernetes API:
//
//   GET  /cloud/v1/instances/ID            {id, providerId, group, lifecycle, healthStatus, launchTime}
//   POST /cloud/v1/instances/ID/health     {healthStatus, token}; 409 with a message when it cannot be set
//   any more GET  /cloud/v1/groups/NAME             {name, minSize, maxSize, desiredCapacity, instances,
//   activities} GET  /cloud/v1/effects                 what changed outside Kubernetes, oldest first POST
//   /cloud/v1/capacity                {instanceType, left}; left null: as much as asked for GET
//   /local/v1/nodes                   [{name, providerId, bootId, alive, kubelet}] POST
//   /local/v1/nodes/NODE/kmsg         the body is written to the node's kernel log POST
//   /local/v1/nodes/NODE/kill | silence | return
#pragma once

#include <optional>

#include "local/cluster/cluster.h"

namespace mainstay::local {

// nullopt: the path is none of these.
std::optional<HttpResponse> answerClusterRequest(Cluster& cluster, const HttpRequest& request);

// The documents of the cloud's part, also for tests of who reads them.
Json encodeInstance(const cloud::Instance& instance);
Json encodeGroup(const cloud::Group& group);

}  // namespace mainstay::local
