// The only file of the tests that imports from inside Temporal's packages: their public entries lack these functions.
export {
  decodeArrayFromPayloads,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
export { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
export { msToTs } from '@temporalio/common/lib/time.js';
