// The key of the model: in the editor's secret storage, bound to the endpoint that it was given for, and in no setting.

import * as vscode from "vscode";
import { keyVariable } from "./settings";

const { t } = vscode.l10n;

function slot(endpoint: string): string {
  return `memls.model.key ${URL.canParse(endpoint) ? new URL(endpoint).origin : endpoint}`;
}

export class Keys {
  private readonly known = new Set<string>();

  constructor(private readonly storage: vscode.SecretStorage) {}

  /** load looks whether there is a key for an endpoint, so that `has` can answer at once. */
  async load(endpoint: string | undefined): Promise<void> {
    if (!endpoint) return;
    if ((await this.storage.get(slot(endpoint))) === undefined) this.known.delete(slot(endpoint));
    else this.known.add(slot(endpoint));
  }

  has = (endpoint: string): boolean => this.known.has(slot(endpoint));

  /**
   * answer is for memls: the key of the endpoint in use, and of no other.
   * Inv: a key leaves the storage only towards the endpoint that it was given for.
   */
  async answer(name: string, endpoint: string | undefined): Promise<string> {
    const key = endpoint && (await this.storage.get(slot(endpoint)));
    if (!key) throw new Error(`no key is kept for ${name === keyVariable ? "this endpoint" : name}`);
    return key;
  }

  /** ask lets the person type a key, or take the kept one away. It answers whether something has changed. */
  async ask(endpoint: string | undefined): Promise<boolean> {
    if (!endpoint) {
      const open = t("Open Settings");
      if ((await vscode.window.showInformationMessage(t("Set memls.model.endpoint and memls.model.name first."), open)) === open) {
        await vscode.commands.executeCommand("workbench.action.openSettings", "memls.model");
      }
      return false;
    }
    const key = await vscode.window.showInputBox({
      title: t("Key for {0}", new URL(endpoint).origin),
      prompt: t("It is kept in the secret storage of the editor. Leave it empty to take the kept key away."),
      password: true,
      ignoreFocusOut: true,
    });
    if (key === undefined) return false;
    if (key.trim()) await this.storage.store(slot(endpoint), key.trim());
    else await this.storage.delete(slot(endpoint));
    await this.load(endpoint);
    return true;
  }
}
