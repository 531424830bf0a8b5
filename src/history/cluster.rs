/// The cluster of the machine called `host`: its name with the numbers folded, `gpu-a100-017.dc1` → `gpu-a100-*.dc1`.
///
/// A number is a part between `-` or `_` of the name before the first dot that consists of digits only; if there is
/// none, the last run of digits is folded (`node017` → `node*`). What follows the first dot names the place and stays.
/// Of an IPv4 address the last number is folded.
pub fn cluster(host: &str) -> String {
    // Already folded.
    if host.contains('*') {
        return host.to_owned();
    }
    let is_address = host.split('.').count() == 4 && host.split('.').all(is_number);
    if let Some((network, _)) = host.rsplit_once('.').filter(|_| is_address) {
        return format!("{network}.*");
    }
    let end = host.find('.').unwrap_or(host.len());
    let (name, domain) = host.split_at(end);
    let mut folded = String::with_capacity(host.len());
    for part in name.split_inclusive(['-', '_']) {
        let word = part.trim_end_matches(['-', '_']);
        folded.push_str(if is_number(word) { "*" } else { word });
        folded.push_str(&part[word.len()..]);
    }
    if folded == name
        && let Some(last) = name.rfind(|sign: char| sign.is_ascii_digit())
    {
        let (before, after) = name.split_at(last + 1);
        let stem = before.trim_end_matches(|sign: char| sign.is_ascii_digit());
        folded = format!("{stem}*{after}");
    }
    folded + domain
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::cluster;

    #[test]
    fn machines_of_one_cluster_have_one_name() {
        for (host, folded) in [
            ("gpu-a100-017.dc1", "gpu-a100-*.dc1"),
            ("node-012", "node-*"),
            ("node012.cluster.example", "node*.cluster.example"),
            ("dgx-h100-rack03-node07", "dgx-h100-rack03-node*"),
            ("ip-10-0-3-17", "ip-*-*-*-*"),
            ("10.0.3.17", "10.0.3.*"),
            ("llama-sft_worker_12", "llama-sft_worker_*"),
            ("n12x", "n*x"),
            ("login", "login"),
            ("7", "*"),
            ("-1-.", "-*-."),
            ("机器-3", "机器-*"),
            ("", ""),
        ] {
            assert_eq!(cluster(host), folded, "{host}");
            assert_eq!(cluster(&cluster(host)), cluster(host), "once is enough: {host}");
        }
    }
}
