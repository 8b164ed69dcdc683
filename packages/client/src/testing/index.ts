/** The parts of the client that tests need beyond its entry, and stand-ins for what it speaks to. */

export { agents } from '../agents/index.ts';
export { readPrices } from '../bill/price-list.ts';
export { readBill } from '../bill/read-bill.ts';
export { isReceipt, judgeReceipt, readReceiptCharge } from '../bill/receipt-charge.ts';
export { verifyCharge } from '../bill/verify-charge.ts';
export { processTerminal } from '../command/process-terminal.ts';
export { sotto } from '../command/sotto.ts';
export { keptPolicy } from '../conversations/kept-policy.ts';
export { type RecordedRequest, recordedRequests } from '../conversations/testing/recorded-agents.ts';
export { vouchForKey } from '../e2ee/enclave-key.ts';
export { replyId } from '../e2ee/testing/chat-answer.ts';
export { exchange, openStream, openWhole } from '../e2ee/testing/exchange.ts';
export {
  type EnclaveAnswer,
  type EnclaveRequest,
  type HeardMessage,
  type Spoken,
  type StandInEnclave,
  type StandInKind,
  type StandInOptions,
  standInEnclave,
  standInKinds,
  standInModel,
} from '../e2ee/testing/index.ts';
export { readTextChat } from '../e2ee/text-chat.ts';
export { FrameReader, frame } from '../e2ee/tinfoil/frames.ts';
export { checkReceipts } from '../enclave/check-receipts.ts';
export { type SimulatedGateway, simulatedEvidence, simulatedKeySet } from '../gateway/testing/simulated-evidence.ts';
export { nodePlatform } from '../platform/node-platform.ts';
export { fetchOver, makePrivateClient, makePrivateFetch, type PrivateClient } from '../private/create-private-fetch.ts';
export { readQuestion } from '../private/question.ts';
export { programsWith } from '../proxy/local-caller.ts';
export { type ProxyOptions, proxyHandler } from '../proxy/proxy-handler.ts';
export { statementOf } from '../releases/testing/made-release.ts';
/** Sigstore's own tools, which take long to load. */
export const privateSigstore = () => import('../releases/testing/private-sigstore.ts');
