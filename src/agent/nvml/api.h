// The part of NVIDIA's management library (NVML) that we call, declared from its public documentation
// (docs.nvidia.com/deploy/nvml-api): nothing of NVIDIA's is needed to build.
#pragma once

namespace mainstay::nvml {

using Device = struct OpaqueDevice*;

// nvmlReturn_t, those that we tell apart.
enum Return : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kInsufficientSize = 7,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kNoData = 21,
  kVgpuEccNotSupported = 22,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
};

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];
};

enum EccCounter : int { kVolatile = 0 };
enum MemoryError : int { kCorrected = 0, kUncorrected = 1 };
enum RetirementCause : int { kManySingleBitErrors = 0, kDoubleBitError = 1 };
enum LinkCounter : int { kReplays = 0, kRecoveries = 1, kCrcFlits = 2 };
inline constexpr unsigned kMaxLinks = 36;

struct FieldValue {
  unsigned fieldId;
  unsigned scopeId;
  long long timestamp;
  long long latency;
  int valueType;  // of the five below, in this order
  int result;
  union {
    double asDouble;
    unsigned asUnsigned;
    unsigned long asUnsignedLong;
    unsigned long long asUnsignedLongLong;
    long long asLongLong;
  } value;
};
enum ValueType : int {
  kDouble = 0,
  kUnsigned = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3,
  kLongLong = 4,
  kInt = 5
};
inline constexpr unsigned kRecoveryActionField = 230;
inline constexpr unsigned kLinkRecoveryEventsField = 215;  // scope: the link; from NVLink 5 on

struct FabricInfoV2 {
  unsigned version;
  unsigned char clusterUuid[16];
  int status;
  unsigned cliqueId;
  unsigned char state;
  unsigned healthMask;
};

struct SramErrorStatusV1 {
  unsigned version;
  unsigned long long counters[11];
  unsigned thresholdExceeded;
};

// How a struct with a version says which: NVML_STRUCT_VERSION.
template <class Struct>
constexpr unsigned structVersion(unsigned number) {
  return static_cast<unsigned>(sizeof(Struct)) | number << 24;
}

// The functions; nullptr where this library has none.
struct Api {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*errorString)(int) = nullptr;
  int (*driverVersion)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*pciInfo)(Device, PciInfo*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*serial)(Device, char*, unsigned) = nullptr;
  int (*eccMode)(Device, int*, int*) = nullptr;
  int (*eccErrors)(Device, MemoryError, EccCounter, unsigned long long*) = nullptr;
  int (*sramErrors)(Device, SramErrorStatusV1*) = nullptr;
  int (*remappedRows)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  int (*retiredPages)(Device, RetirementCause, unsigned*, unsigned long long*) = nullptr;
  int (*retirementPending)(Device, int*) = nullptr;
  int (*linkState)(Device, unsigned, int*) = nullptr;
  int (*linkErrors)(Device, unsigned, LinkCounter, unsigned long long*) = nullptr;
  int (*fabric)(Device, FabricInfoV2*) = nullptr;
  int (*clockReasons)(Device, unsigned long long*) = nullptr;
  int (*fields)(Device, int, FieldValue*) = nullptr;
};

}  // namespace mainstay::nvml
