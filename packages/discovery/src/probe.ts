import * as z from 'zod';
import type { Ask } from './model-server.ts';

const chatSchema = z.looseObject({ choices: z.array(z.unknown()) });

const question = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 };
const tool = { type: 'function', function: { name: 'noop', parameters: { type: 'object', properties: {} } } };

/** Whether a server of OpenAI's shape answers a chat of one token. */
export const chats = async (ask: Ask, model: string, more: object = {}): Promise<boolean> =>
  chatSchema.safeParse(await ask('/chat/completions', { model, ...question, ...more })).success;

/**
 * Whether it takes tools. Lists in OpenAI's shape do not say so, and vLLM refuses tools unless it was started with them. So this asks for
 * one token.
 */
export const takesTools = (ask: Ask, model: string): Promise<boolean> => chats(ask, model, { tools: [tool] });
