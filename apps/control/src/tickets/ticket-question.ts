import { type Catalog, modelTypeOf, type Needs, noNeeds, reasoningNeeds } from '@sotto/router';
import type { bindingsOf } from '@sotto/state';
import {
  autoModelId,
  imageSettings,
  type Operation,
  operations,
  parseModelReference,
  reasoningSelection,
  ServiceError,
  speechSettings,
  type TicketRequest,
} from '@sotto/wire';

type Bindings = Parameters<typeof bindingsOf>[0];

/** A parsed ticket request: the fields that the ticket binds, and the minimum needs of its request. */
export interface TicketQuestion {
  readonly bindings: Bindings;
  readonly needs: Needs;
}

/** Returns the operation of a ticket: `operation`, or else the one of the model’s type. */
export function operationOf({ operation, model }: TicketRequest, catalog: Catalog): Operation {
  if (operation != null) return operation;
  const { id } = parseModelReference(model);
  const type = id === autoModelId ? 'text' : catalog.models.get(id)?.type;
  return operations.find((name) => modelTypeOf[name] === type) ?? 'chat';
}

/** Reads a ticket request for an operation. Throws if it is invalid. */
export function readTicketQuestion(asked: TicketRequest, operation: Operation): TicketQuestion {
  refuseForeignFields(asked, operation);
  const { model, models, provider } = asked;
  const reasoning = reasoningSelection(asked);
  return {
    bindings: { operation, model, models, provider, reasoning, media: readMedia(asked, operation) },
    needs: { ...noNeeds(modelTypeOf[operation]), ...reasoningNeeds(reasoning) },
  };
}

function readMedia(asked: TicketRequest, operation: Operation): Bindings['media'] {
  const { size, response_format: format, input_chars: inputChars, voice } = asked;
  if (operation === 'image') {
    return imageSettings({ size, response_format: onlyFormat('b64_json', format, operation) });
  }
  if (operation !== 'speech') return undefined;
  if (inputChars == null) {
    throw new ServiceError('invalid_request', {
      message: '`input_chars` is required for speech: the exact length of the text in UTF-16 code units.',
      param: 'input_chars',
    });
  }
  return speechSettings({ response_format: onlyFormat('mp3', format, operation), input_chars: inputChars, voice });
}

function onlyFormat<Format extends string>(
  only: Format,
  format: string | null | undefined,
  operation: Operation,
): Format {
  if (format == null || format === only) return only;
  throw new ServiceError('invalid_request', {
    message: `\`response_format\` must be \`${only}\` in a ticket with \`operation\` ${operation}.`,
    param: 'response_format',
  });
}

/** The fields that a ticket binds for some operations only. */
const bindingFields = {
  models: ['chat'],
  reasoning_effort: ['chat'],
  reasoning: ['chat'],
  size: ['image'],
  response_format: ['image', 'speech'],
  input_chars: ['speech'],
  voice: ['speech'],
} as const satisfies Partial<Record<keyof TicketRequest, readonly Operation[]>>;

/** Rejects fields that the ticket would not bind, because the client expects that they are bound. */
function refuseForeignFields(asked: TicketRequest, operation: Operation): void {
  const fields = Object.keys(bindingFields) as (keyof typeof bindingFields)[];
  for (const field of fields) {
    const owners: readonly Operation[] = bindingFields[field];
    if (asked[field] == null || owners.includes(operation)) continue;
    throw new ServiceError('invalid_request', {
      message: `\`${field}\` belongs to tickets with \`operation\` ${owners.join(' or ')}; this one is for ${operation}.`,
      param: field,
    });
  }
}
