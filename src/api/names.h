// Every label, taint, annotation, condition and field-manager name that Mainstay reads or writes, in one
// place. The sagemaker.amazonaws.com literals are those of SageMaker HyperPod on EKS, so that its users' job
// files, command lines and dashboards work unchanged.
#pragma once

namespace mainstay::api {

// --- Node labels and taint (HyperPod) ---
inline constexpr char kHealthStatusLabel[] = "sagemaker.amazonaws.com/node-health-status";
inline constexpr char kSchedulable[] = "Schedulable";
inline constexpr char kUnschedulable[] = "Unschedulable";
inline constexpr char kPendingReplacement[] = "UnschedulablePendingReplacement";
inline constexpr char kPendingReboot[] = "UnschedulablePendingReboot";
inline constexpr char kFaultTypesLabel[] = "sagemaker.amazonaws.com/fault-types";
inline constexpr char kFaultReasonsLabel[] = "sagemaker.amazonaws.com/fault-reasons";
inline constexpr char kFaultDetailsAnnotation[] = "sagemaker.amazonaws.com/fault-details";
inline constexpr char kHealthTaintKey[] = "sagemaker.amazonaws.com/node-health-status";
inline constexpr char kHealthTaintValue[] = "Unschedulable";  // whatever the label's value; effect NoSchedule

// --- Jobs (HyperPod) ---
inline constexpr char kAutoResumeAnnotation[] = "sagemaker.amazonaws.com/enable-job-auto-resume";
inline constexpr char kMaxRetryAnnotation[] = "sagemaker.amazonaws.com/job-max-retry-count";

// --- Ours ---
inline constexpr char kGroup[] = "mainstay.dev";
inline constexpr char kGroupVersion[] = "mainstay.dev/v1alpha1";
inline constexpr char kFindingsAnnotation[] = "mainstay.dev/findings";
inline constexpr char kClearAnnotation[] =
    "mainstay.dev/clear";  // on a node: a person calls faults over; JSON {at, by, reason, condition}
inline constexpr char kRecoveryAnnotation[] =
    "mainstay.dev/recovery";  // on a node: the open incident, marks our writes
inline constexpr char kCordonedAnnotation[] = "mainstay.dev/cordoned";  // "true": we cordoned this node
inline constexpr char kResumeAnnotation[] =
    "mainstay.dev/resume";  // on a job: JSON {retry, incidents, phase, since}

// --- Others we look at ---
inline constexpr char kKueueQueueLabel[] = "kueue.x-k8s.io/queue-name";
inline constexpr char kTrainingJobNameLabel[] = "training.kubeflow.org/job-name";
inline constexpr char kReplicaTypeLabel[] = "training.kubeflow.org/replica-type";
inline constexpr char kReplicaIndexLabel[] = "training.kubeflow.org/replica-index";
inline constexpr char kInstanceTypeLabel[] = "node.kubernetes.io/instance-type";
inline constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";
inline constexpr char kHostnameLabel[] = "kubernetes.io/hostname";
inline constexpr char kMirrorPodAnnotation[] = "kubernetes.io/config.mirror";

// --- Field managers (who owns which field: docs/design) ---
inline constexpr char kAgentManager[] = "mainstay-agent";
inline constexpr char kRecoveryManager[] = "mainstay-recovery";
inline constexpr char kJobsManager[] = "mainstay-jobs";
inline constexpr char kCliManager[] = "mainstay-cli";

}  // namespace mainstay::api
