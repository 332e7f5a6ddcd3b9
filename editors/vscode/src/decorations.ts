// Marks on memories that should not be taken at their word: superseded, expired, stale. In the explorer, and on top of the text.

import * as vscode from "vscode";
import { isStale, type Memories } from "./memories";
import type { ListedDocument } from "./protocol";
import { daysSince } from "./text";

const { t } = vscode.l10n;

interface Mark {
  badge: string;
  text: string;
  color: string;
}

function markOf(m: ListedDocument): Mark | undefined {
  if (m.status === "superseded") return { badge: "S", text: t("superseded: another memory holds instead"), color: "disabledForeground" };
  if (m.status === "expired") return { badge: "E", text: t("expired: not recalled any more"), color: "disabledForeground" };
  const now = Date.now();
  if (isStale(m, now)) return { badge: "O", text: t("stale: last updated {0} days ago, check it", daysSince(m.updatedAt, now)), color: "list.warningForeground" };
  return undefined;
}

export class Decorations implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeFileDecorations = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  private readonly head = vscode.window.createTextEditorDecorationType({ isWholeLine: true, rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed });

  constructor(private readonly memories: Memories) {
    this.subscriptions = [
      this.head,
      vscode.window.registerFileDecorationProvider(this),
      memories.onChange(() => {
        this.changed.fire(undefined);
        this.editors();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => this.editors()),
    ];
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const memory = this.memories.of(uri);
    const mark = memory && markOf(memory);
    return mark && new vscode.FileDecoration(mark.badge, mark.text, new vscode.ThemeColor(mark.color));
  }

  private editors(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const memory = this.memories.of(editor.document.uri);
      const mark = memory && markOf(memory);
      const options: vscode.DecorationOptions[] = mark
        ? [{ range: new vscode.Range(0, 0, 0, 0), renderOptions: { after: { contentText: `  ${mark.text}`, color: new vscode.ThemeColor("editorCodeLens.foreground"), fontStyle: "italic" } } }]
        : [];
      editor.setDecorations(this.head, options);
    }
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.changed.dispose();
  }
}
