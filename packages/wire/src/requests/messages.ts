import * as z from 'zod';
import { reasoningDetailSchema } from '../reasoning-details.ts';
import { imageUrlSchema } from './image-url.ts';
import { omittable } from './without-nulls.ts';

/** The most messages one chat request may hold. */
export const maxMessages = 4096;

/**
 * Up to here the prompt may be kept in the provider's cache, where it has one that is asked for like this (Anthropic).
 * How long it is kept is not the caller's choice: a longer time has another price.
 */
export const cacheControlSchema = z
  .object({ type: z.literal('ephemeral', { error: 'must be `ephemeral`' }) })
  .nullish();

const textPart = z.object({ type: z.literal('text'), text: z.string(), cache_control: cacheControlSchema });
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: imageUrlSchema, detail: omittable(z.enum(['auto', 'low', 'high'])) }),
  cache_control: cacheControlSchema,
});
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

const textContent = z.union([z.string(), z.array(textPart).min(1)], {
  error: 'must be a string or an array of text parts',
});
const seenPart = z.discriminatedUnion('type', [textPart, imagePart], {
  error: 'must be a part of the type `text` or `image_url`: files, audio and video are not supported',
});
/** What a person shows, and what a tool does, such as a screenshot. */
const seenContent = z.union([z.string(), z.array(seenPart).min(1)], {
  error: 'must be a string or an array of `text` and `image_url` parts',
});
/** An empty list is what some clients send beside tool calls. */
const assistantContent = z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, refusalPart]))], {
  error: 'must be a string, null or an array of `text` and `refusal` parts',
});

export const toolCallSchema = z.object({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const name = omittable(z.string().min(1).max(64));

/** One chat message (interface 2.3, the OpenAI shape). Fields not named here are dropped, never forwarded. */
export const messageSchema = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), content: textContent, name }),
    z.object({ role: z.literal('developer'), content: textContent, name }),
    z.object({ role: z.literal('user'), content: seenContent, name }),
    z.object({
      role: z.literal('assistant'),
      content: assistantContent.nullish(),
      refusal: z.string().nullish(),
      /** What an earlier answer said of its reasoning: needed again by some models in the middle of a tool loop. */
      reasoning: z.string().nullish(),
      reasoning_content: z.string().nullish(),
      reasoning_details: z.array(reasoningDetailSchema).max(65_536).nullish(),
      tool_calls: omittable(z.array(toolCallSchema).max(128)),
      name,
    }),
    z.object({ role: z.literal('tool'), content: seenContent, tool_call_id: z.string().min(1) }),
  ],
  { error: 'must have a `role` of system, developer, user, assistant or tool' },
);
export type Message = z.infer<typeof messageSchema>;
