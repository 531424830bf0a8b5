use std::collections::BTreeSet;
use std::sync::Arc;

/// The packages whose frames are not the user's own, wherever they are installed.
#[derive(Debug, Clone, Default)]
pub struct Libraries {
    names: BTreeSet<Arc<str>>,
}

impl Libraries {
    /// Adds those called `names`.
    pub(super) fn extend(&mut self, names: impl IntoIterator<Item = Arc<str>>) {
        self.names.extend(names);
    }

    /// Whether `file` is a Python file of no known library. The actor of a remote call and a symbol of a binary have no source file.
    pub fn is_own(&self, file: &str) -> bool {
        file.ends_with(".py") && self.package(file).is_none()
    }

    /// The package of a source file and the path within it; `None` for the user's own file.
    pub fn package<'f>(&self, file: &'f str) -> Option<(&'f str, &'f str)> {
        if let Some(inner) = installed(file) {
            return Some(inner.split_once('/').unwrap_or((inner.trim_end_matches(".py"), inner)));
        }
        if let Some((_, inner)) = file.split_once("/lib/python3") {
            return Some(("python", inner.split_once('/').map_or(inner, |(_, inner)| inner)));
        }
        if file.starts_with('<') {
            return Some(("python", file));
        }
        // Installed from a checkout: `/workspace/vllm/vllm/worker/worker.py`.
        let mut end = file.rfind('/')?;
        loop {
            let start = file[..end].rfind('/').map_or(0, |before| before + 1);
            if self.names.contains(&file[start..end]) {
                return Some((&file[start..end], &file[end + 1..]));
            }
            end = start.checked_sub(1)?;
        }
    }
}

/// The path of a source file below the folder of installed packages; `None` if it is in none.
pub fn installed(file: &str) -> Option<&str> {
    ["site-packages/", "dist-packages/"].into_iter().find_map(|folder| Some(file.rsplit_once(folder)?.1))
}

/// Like [`installed`], but also for files of Python's standard library: `runpy.py` of `/usr/lib/python3.10/runpy.py`.
pub fn in_installation(file: &str) -> Option<&str> {
    installed(file).or_else(|| file.split_once("/lib/python3")?.1.split_once('/').map(|(_, inner)| inner))
}

/// The part of a path that tells about the program, without the environment's folder, whose name means nothing (`envs/vllm/bin/`).
pub fn below_installation(file: &str) -> &str {
    in_installation(file).or_else(|| file.rsplit_once("/bin/").map(|(_, program)| program)).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every stack in an environment called `vllm`, or below conda's `envs/`, looked like one of vLLM or of reinforcement learning.
    #[test]
    fn the_name_of_an_environment_says_nothing_of_the_program() {
        for (file, below) in [
            ("/opt/conda/envs/vllm/bin/SemiBin2", "SemiBin2"),
            ("/home/user/miniconda3/envs/gym/lib/python3.12/site-packages/SemiBin/main.py", "SemiBin/main.py"),
            ("/opt/conda/envs/train/lib/python3.9/multiprocessing/pool.py", "multiprocessing/pool.py"),
            ("/home/user/envs/train.py", "/home/user/envs/train.py"),
        ] {
            assert_eq!(below_installation(file), below);
        }
    }

    #[test]
    fn tells_a_library_from_the_users_own() {
        let libraries = Libraries { names: ["vllm".into()].into() };
        let package = |file| libraries.package(file).map(|(package, inner)| (package.to_owned(), inner.to_owned()));
        let is = |package: &str, inner: &str| Some((package.to_owned(), inner.to_owned()));
        assert_eq!(package("/opt/lib/python3.11/site-packages/torch/optim/adam.py"), is("torch", "optim/adam.py"));
        assert_eq!(package("/usr/lib/python3/dist-packages/six.py"), is("six", "six.py"));
        assert_eq!(package("/usr/lib/python3.10/multiprocessing/pool.py"), is("python", "multiprocessing/pool.py"));
        assert_eq!(package("/workspace/vllm/vllm/worker/worker.py"), is("vllm", "worker/worker.py"));
        assert_eq!(package("/home/user/train.py"), None);
        assert_eq!(package("train.py"), None);
        assert_eq!(package("src/vllmish/train.py"), None);
    }
}
