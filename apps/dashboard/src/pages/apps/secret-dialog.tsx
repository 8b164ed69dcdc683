import type { AppAnswer } from '@sotto/wire';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/surface.tsx';

/** What a library needs of an app that was just made, or got another secret: the only time that the secret is shown. */
export function SecretDialog({ app, onClose }: { app: AppAnswer | undefined; onClose: () => void }) {
  return (
    <Dialog
      open={app !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={app === undefined ? 'The app' : `${app.name} is ready`}
      description="This is what its OAuth library asks for."
    >
      <div className="space-y-4">
        <CodeBlock label="Client id" code={app?.client_id ?? ''} />
        {app?.client_secret === undefined ? (
          <p className="text-muted">It is public and has no secret: PKCE protects its codes.</p>
        ) : (
          <>
            <CodeBlock label="Client secret" code={app.client_secret} />
            <Notice tone="warn">The secret is shown this once. Keep it where only the app’s server reads it.</Notice>
          </>
        )}
        <div className="flex justify-end">
          <Button look="primary" onClick={onClose}>
            {app?.client_secret === undefined ? 'Done' : 'I have kept it'}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
