/**
 * Everything that Tillflow and its tests import from inside Temporal's packages. Temporal's client lists workflows page
 * by page only through the raw service, signals a workflow with a request id of the caller's only through the raw
 * service, and does not decode the input in a history; yet it exports no function that converts raw messages. These
 * paths are no public interface: check each of them when Temporal's packages are updated.
 */
export { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
export {
  decodeArrayFromPayloads,
  decodeMapFromPayloads,
  decodeOptionalFailureToOptionalError,
  encodeToPayloads,
} from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
export { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
export { msToTs } from '@temporalio/common/lib/time.js';
