/** What tests need of the adapters beyond the package's entry: requests, streams and recorded answers. */

export { BulkyJson } from '../bulky-json.ts';
export { readImageUrl } from '../translate/conversation.ts';
export { event, frame, message, ours, parseFrames, runStream, target } from './fixtures.ts';
export { ownRecordings, type RecordedApi } from './recordings.ts';
export { readSlowly } from './slow-stream.ts';
