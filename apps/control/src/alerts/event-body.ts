import type { WebhookFormat } from '@sotto/contract/control/alerts';
import type { BudgetScope } from '@sotto/state';

/** An event that a webhook receives. It names no model and no request. */
export interface AlertEvent {
  /** `budget.refusal`: a budget did not cover a request. `budget.alert.test`: an admin tests the webhook. */
  readonly type: 'budget.alert' | 'budget.refusal' | 'budget.alert.test';
  /** The alert in a few sentences. */
  readonly text: string;
  readonly workspace: { readonly id: string; readonly name: string };
  /** Whose keys the budget limits, or who created the key that it limits. Null: the budget limits neither. */
  readonly person: { readonly id: string; readonly email: string | null } | null;
  readonly key: { readonly id: string; readonly name: string } | null;
  /** The tag of the keys that the budget limits. */
  readonly tag: string | null;
  readonly budget: {
    readonly id: string;
    readonly scope: BudgetScope;
    readonly limit_usd: number;
    readonly spent_usd: number;
  };
  /** The percent of the limit that was passed. Of a refusal, the whole percents that are spent. */
  readonly percent: number;
  /** UTC, `YYYY-MM`. */
  readonly month: string;
  /** The page with the budgets. */
  readonly url: string;
}

/** Writes an event as its receiver reads it. People choose names, so no format lets a name be more than text. */
export function eventBody(event: AlertEvent, format: WebhookFormat): string {
  switch (format) {
    case 'json':
      return JSON.stringify(event);
    case 'slack':
      // https://docs.slack.dev/reference/block-kit/composition-objects/text-object: plain text has no formatting, links or mentions. Slack
      // shows `text` only where it shows no blocks, such as in notifications.
      return JSON.stringify({
        text: escapedForSlack(event.text),
        blocks: [
          { type: 'section', text: { type: 'plain_text', text: event.text, emoji: false } },
          { type: 'section', text: { type: 'mrkdwn', text: `<${event.url}|Budgets and alerts>` } },
        ],
      });
    case 'teams':
      // https://learn.microsoft.com/connectors/teams: a flow of Teams takes an Adaptive Card. A text run is not read as Markdown.
      return JSON.stringify({
        type: 'message',
        attachments: [
          {
            contentType: 'application/vnd.microsoft.card.adaptive',
            content: {
              $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
              type: 'AdaptiveCard',
              version: '1.4',
              body: [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: event.text }] }],
              actions: [{ type: 'Action.OpenUrl', title: 'Budgets and alerts', url: event.url }],
            },
          },
        ],
      });
    default:
      return format satisfies never;
  }
}

const escapedForSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
