//! What an editor puts into a prompt, as agents take it.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use stablehand_core::speak::{Image, Prompt};

/// A prompt, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// What the agent is asked.
    pub(super) prompt: Prompt,
    /// What no agent takes, in words.
    pub(super) refused: Option<&'static str>,
}

/// Takes a prompt apart.
pub(super) fn parts(blocks: &[ContentBlock]) -> Parts {
    let mut parts = Parts::default();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => parts.add(&text.text),
            ContentBlock::Image(image) => {
                parts.prompt.images.push(Image {
                    mime: image.mime_type.clone(),
                    data: image.data.clone(),
                    uri: image.uri.clone(),
                });
            }
            ContentBlock::ResourceLink(link) => {
                // Agents read `@` before a path as the file that it names.
                match file_of(&link.uri) {
                    Some(path) => parts.add(&format!("@{path}")),
                    None => parts.add(&format!("[{}]({})", link.name, link.uri)),
                }
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(it) => {
                    parts.add(&context(&it.uri, &it.text));
                }
                _ => parts.refused = Some("files that are no text cannot be put into a prompt"),
            },
            ContentBlock::Audio(_) => parts.refused = Some("no agent takes sound"),
            _ => parts.refused = Some("a part of the prompt is of a kind that is not known"),
        }
    }
    parts
}

impl Parts {
    /// Adds a piece; editors cut a line where it names a file.
    fn add(&mut self, text: &str) {
        let glued = |edge: char| edge.is_whitespace() || "([{,.;:!?)]}'\"".contains(edge);
        let before = self.prompt.text.chars().last().is_none_or(glued);
        let after = text.chars().next().is_none_or(glued);
        if !before && !after {
            self.prompt.text.push(' ');
        }
        self.prompt.text.push_str(text);
    }
}

fn file_of(uri: &str) -> Option<&str> {
    uri.strip_prefix("file://").filter(|path| path.starts_with('/'))
}

/// A file that the editor hands over, perhaps newer than the one on the disk.
fn context(uri: &str, text: &str) -> String {
    let name = file_of(uri).unwrap_or(uri);
    let fence = if text.contains("```") { "````" } else { "```" };
    format!("\n\n{name}:\n{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::{
        EmbeddedResource, ImageContent, ResourceLink, TextResourceContents,
    };

    #[test]
    fn a_prompt_keeps_its_order_and_names_its_files() {
        let link = ResourceLink::new("fence.rs", "file:///w/fence.rs");
        let whole = TextResourceContents::new("a\nb\n", "file:///w/gate.rs");
        let blocks = [
            ContentBlock::from("Mend"),
            ContentBlock::ResourceLink(link),
            ContentBlock::from(", please"),
            ContentBlock::Resource(EmbeddedResource::new(
                EmbeddedResourceResource::TextResourceContents(whole),
            )),
            ContentBlock::Image(ImageContent::new("aGF5", "image/png")),
        ];
        let parts = parts(&blocks);
        assert_eq!(parts.prompt.text, "Mend @/w/fence.rs, please\n\n/w/gate.rs:\n```\na\nb\n```\n");
        let [image] = parts.prompt.images.try_into().unwrap();
        assert_eq!((image.mime.as_str(), image.data.as_str()), ("image/png", "aGF5"));
        assert_eq!(parts.refused, None);
    }
}
